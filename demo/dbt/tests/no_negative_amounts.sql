SELECT * FROM {{ ref("orders_merged") }} WHERE amount < 0
