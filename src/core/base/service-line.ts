import { formatMicros } from '../../shared/timestamps.ts'

interface ServiceEntry {
  id: string
  atMs: number
  message: string
  metadata: object
  /** Who may see it. */
  project?: string
}

/** An entry that the service writes itself, as a line in the form of stored ones, which live streams read. */
export function serviceLine({ id, atMs, message, metadata, project = '' }: ServiceEntry): string {
  const timestamp = formatMicros(BigInt(Math.round(atMs * 1000)))
  return `${JSON.stringify({ project, id, timestamp, event_message: message, metadata })}\n`
}
