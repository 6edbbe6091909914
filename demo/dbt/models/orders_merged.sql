{{ config(materialized="incremental", unique_key="id", partition_by=["day"]) }}
SELECT id, CAST(day AS date) AS day, amount * {{ var("factor", 1) }} AS amount
FROM {{ ref("raw_orders") }}
