{{ config(materialized="view") }}
SELECT * FROM {{ ref("raw_orders") }} WHERE amount > 5
