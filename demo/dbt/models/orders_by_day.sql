{{ config(materialized="incremental", incremental_strategy="insert_overwrite", partition_by=["day"]) }}
SELECT id, amount, CAST(day AS date) AS day
FROM {{ ref("raw_orders") }}
{% if is_incremental() %}WHERE day = '2024-01-03'{% endif %}
