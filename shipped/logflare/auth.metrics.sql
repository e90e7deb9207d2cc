/*
id: 0b5c3f5e-3f0c-4a8b-9a53-0c2b6a1d7e13
description: Figures of authentication for the current and the previous day.
parameters:
  project:
    required: true
    description: Project reference.
  interval:
    enum: [1day]
    default: 1day
    description: Length of each period.
max_rows: 2
cache: 60s
timestamps: logflare
*/
WITH
    if(timestamp > @now - INTERVAL 1 DAY, 'current', 'previous') AS in_period,

    auth AS (
        SELECT
            in_period AS period,
            uniqExactIf(
                metadata.auth_event.actor_id::String, metadata.auth_event.actor_id::String != ''
            ) AS active_users,
            countIf(metadata.auth_event.action::String = 'user_signedup') AS sign_up_count,
            countIf(metadata.auth_event.action::String = 'user_recovery_requested') AS password_reset_requests,
            countIf(metadata.status::String != '') AS auth_total_requests,
            countIf(
                lower(metadata.level::String) IN ('error', 'fatal')
                OR ifNull(metadata.status::Nullable(Float64), 0) >= 400
            ) AS auth_total_errors
        FROM auth_logs
        WHERE project = @project AND timestamp > @now - INTERVAL 2 DAY AND timestamp <= @now
        GROUP BY period
    ),

    api AS (
        SELECT
            in_period AS period,
            count() AS api_total_requests,
            countIf(ifNull(metadata.response.status_code::Nullable(Float64), 0) >= 400) AS api_error_requests
        FROM edge_logs
        WHERE
            project = @project
            AND timestamp > @now - INTERVAL 2 DAY AND timestamp <= @now
            AND position(metadata.request.path::String, '/auth/') > 0
        GROUP BY period
    )

SELECT
    periods.period AS period,
    auth.active_users AS active_users,
    auth.sign_up_count AS sign_up_count,
    auth.password_reset_requests AS password_reset_requests,
    api.api_total_requests AS api_total_requests,
    api.api_error_requests AS api_error_requests,
    auth.auth_total_requests AS auth_total_requests,
    auth.auth_total_errors AS auth_total_errors
FROM (SELECT arrayJoin(['current', 'previous']) AS period) AS periods
LEFT JOIN auth ON auth.period = periods.period
LEFT JOIN api ON api.period = periods.period
ORDER BY period
