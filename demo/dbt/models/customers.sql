{{ config(materialized="table") }}
SELECT customer, count(*) AS orders, sum(amount) AS total
FROM {{ ref("raw_orders") }}
GROUP BY customer
