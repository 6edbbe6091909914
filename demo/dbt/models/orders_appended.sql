{{ config(materialized="incremental", incremental_strategy="append", on_schema_change="append_new_columns") }}
SELECT id, day, amount{% if var("with_customer", false) %}, customer{% endif %}
FROM {{ ref("raw_orders") }}
{% if is_incremental() %}WHERE id > (SELECT max(id) FROM {{ this }}){% endif %}
