import sources from './built-in-sources.json' with { type: 'json' }
import { newSourceShape } from './source.ts'

/** Holds rejected entries of all sources. Only the service writes to it. */
export const quarantineSource = 'quarantine'
/** Holds OpenTelemetry records that name no source. */
export const otelSource = 'otel_logs'
/** Holds requests to endpoints. Only the service writes to it. */
export const callsSource = 'endpoint_requests'
/** Holds changes of alerts and their deliveries. Only the service writes to it. */
export const alertsSource = 'alert_events'
/** Holds who changed what. Only the service writes to it, and only admins read it. */
export const auditSource = 'audit_events'

export function isWrittenByService(source: string): boolean {
  return [quarantineSource, callsSource, alertsSource, auditSource].includes(source)
}

/** The sources that exist from the first start. Their aliases are the names that existing senders use. */
export const builtInSources = sources.map((source) => newSourceShape.parse(source))

export function isBuiltIn(name: string): boolean {
  return builtInSources.some((source) => source.name === name)
}
