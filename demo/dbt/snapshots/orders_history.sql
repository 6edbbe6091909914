{% snapshot orders_history %}
{{ config(
    target_schema="shop",
    unique_key="id",
    strategy="check",
    check_cols=["amount"],
    hard_deletes="invalidate",
) }}
SELECT * FROM {{ ref("raw_orders") }}
{% endsnapshot %}
