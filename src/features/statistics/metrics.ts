import type { Meters } from '../../core/base/meters.ts'
import { cacheUses, type RequestRecord } from '../../core/http/request-record.ts'

interface IntakeReport {
  source: string
  accepted: number
  rejected: number
  dropped?: number
  withoutProject: number
  bytes: number
  ms: number
}

const statusClasses = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const
const classOf = (status: number) => statusClasses[Math.floor(status / 100) - 1] ?? '5xx'

/** Number of finished requests of all kinds, by the first digit of their status. */
export class RequestCounts {
  readonly byClass = { '1xx': 0, '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0 }

  add(status: number): void {
    this.byClass[classOf(status)]++
  }
}

/** Maximum number of endpoint names, and of source names, that get a label of their own. */
const maxNames = 200

/** The shared label of all further names; no endpoint or source can have this name. */
const otherLabel = '_other'

/** Names as metric labels. Every label costs memory in Prometheus, so only a limited number is used. */
function boundedLabels(exists: (name: string) => boolean) {
  const names = new Set<string>()
  return {
    of(name: string): string {
      // A name that no longer exists would never free its slot.
      if (!names.has(name) && (names.size >= maxNames || !exists(name))) return otherLabel
      names.add(name)
      return name
    },
    release(): string[] {
      const removed = [...names].filter((name) => !exists(name))
      for (const name of removed) names.delete(name)
      return removed
    },
  }
}

/** Upper bounds in seconds, from a cache hit to the usual limit of a query. */
const callBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const intakeBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** Metrics that are counted when something happens; `figures.ts` has those that are read. */
function pushedMetrics(meters: Meters) {
  const counter = meters.counter.bind(meters)
  const histogram = meters.histogram.bind(meters)
  const duration = 'Time from the arrival of a request to an endpoint to the end of its response.'
  const intakeDuration = 'Time until the entries of a request were on disk.'
  const rowsRead = 'Rows of sources that the engine read for requests to endpoints.'
  const withoutProject = 'Stored entries without a project, which no tenant can see.'
  const engineSeconds = 'Time that the engine spent on endpoint queries.'
  const callLabels = ['endpoint', 'status', 'cache'] as const
  return {
    durations: histogram('wellhead_call_duration_seconds', duration, callBuckets, ...callLabels),
    intakeDurations: histogram('wellhead_ingest_duration_seconds', intakeDuration, intakeBuckets, 'source'),
    rowsRead: counter('wellhead_rows_read_total', rowsRead, 'endpoint'),
    entries: counter(
      'wellhead_ingest_entries_total',
      'Stored, rejected and dropped entries.',
      'source',
      'result',
    ),
    entryBytes: counter(
      'wellhead_ingest_bytes_total',
      'Bytes of stored entries, as lines of JSON.',
      'source',
    ),
    withoutProject: counter('wellhead_ingest_without_project_total', withoutProject, 'source'),
    refused: counter('wellhead_ingest_refused_total', 'Requests whose entries were all refused.', 'code'),
    runs: counter('wellhead_query_runs_total', 'Endpoint queries that the engine ran.', 'purpose'),
    engineSeconds: counter('wellhead_query_engine_seconds_total', engineSeconds, 'purpose'),
  }
}

/** Metrics of requests, queries and entries. */
export class Metrics {
  readonly meters: Meters
  readonly #sourceLabels: ReturnType<typeof boundedLabels>
  readonly #endpointLabels: ReturnType<typeof boundedLabels>
  readonly #pushed: ReturnType<typeof pushedMetrics>
  #namesChanged = false

  /** Tells whether an endpoint or a source has a name. */
  constructor(meters: Meters, exists: Record<'endpoint' | 'source', (name: string) => boolean>) {
    this.meters = meters
    this.#sourceLabels = boundedLabels(exists.source)
    this.#endpointLabels = boundedLabels(exists.endpoint)
    this.#pushed = pushedMetrics(meters)
  }

  async text(): Promise<string> {
    this.#release()
    return this.meters.text()
  }

  /** Endpoints or sources were created, renamed or deleted. Removed names are dropped at the next read. */
  namesChanged(): void {
    this.#namesChanged = true
  }

  called({ endpoint: name, status, cache, totalMs, rowsRead }: RequestRecord): void {
    this.#release()
    const endpoint = this.#endpointLabels.of(name)
    this.#pushed.durations.observe({ endpoint, status: classOf(status), cache }, totalMs / 1000)
    if (rowsRead) this.#pushed.rowsRead.inc({ endpoint }, rowsRead)
  }

  stored({ source: name, accepted, rejected, dropped = 0, withoutProject, bytes, ms }: IntakeReport): void {
    const source = this.#sourceLabels.of(name)
    this.#pushed.entries.inc({ source, result: 'stored' }, accepted)
    this.#pushed.entries.inc({ source, result: 'rejected' }, rejected)
    if (dropped > 0) this.#pushed.entries.inc({ source, result: 'dropped' }, dropped)
    this.#pushed.entryBytes.inc({ source }, bytes)
    this.#pushed.withoutProject.inc({ source }, withoutProject)
    this.#pushed.intakeDurations.observe({ source }, ms / 1000)
  }

  ran(purpose: string, ms: number): void {
    this.#pushed.runs.inc({ purpose })
    this.#pushed.engineSeconds.inc({ purpose }, ms / 1000)
  }

  refused(code: string): void {
    this.#pushed.refused.inc({ code })
  }

  /** The label of a source, which figures read elsewhere share. */
  sourceLabel(name: string): string {
    return this.#sourceLabels.of(name)
  }

  #release(): void {
    if (!this.#namesChanged) return
    this.#namesChanged = false
    for (const endpoint of this.#endpointLabels.release()) {
      for (const status of statusClasses) {
        for (const cache of cacheUses) this.#pushed.durations.remove({ endpoint, status, cache })
      }
      this.#pushed.rowsRead.remove({ endpoint })
    }
    for (const source of this.#sourceLabels.release()) {
      for (const result of ['stored', 'rejected', 'dropped']) this.#pushed.entries.remove({ source, result })
      this.#pushed.entryBytes.remove({ source })
      this.#pushed.withoutProject.remove({ source })
      this.#pushed.intakeDurations.remove({ source })
    }
  }
}
