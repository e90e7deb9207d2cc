import reserved from './reserved-sources.json' with { type: 'json' }

/** Holds rejected entries of all sources. Only the service writes to it. */
export const quarantineSource = 'quarantine'
/** Holds OpenTelemetry records that name no source. */
export const otelSource = 'otel_logs'
/** Holds who changed what. Only the service writes to it, and only admins read it. */
export const auditSource = 'audit_events'

interface ReservedSource {
  name: string
  /** Paths of metadata that name a project beside the one that has the entry. */
  project_paths?: readonly (readonly string[])[]
}

/**
 * Sources that only the service writes to, in the order in which it creates them. Names are never removed: the data of a service
 * may have a source of a feature that this build lacks.
 */
export const reservedSources: readonly ReservedSource[] = reserved

export function isWrittenByService(source: string): boolean {
  return reservedSources.some(({ name }) => name === source)
}

/** Paths of metadata where entries of a source name other projects. */
export function projectPathsOf(source: string): readonly (readonly string[])[] {
  return reservedSources.find(({ name }) => name === source)?.project_paths ?? []
}
