{{ config(
    materialized="incremental",
    incremental_strategy="microbatch",
    event_time="day",
    batch_size="year",
    begin="2024-01-01",
    partition_by=["day"],
) }}
SELECT id, amount, CAST(day AS date) AS day
FROM {{ ref("raw_orders") }}
