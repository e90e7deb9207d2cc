import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { BoundedLabels } from './bounded-labels.ts'
import { type CallRecord, cacheUses } from './call-record.ts'
import type { StoredSource } from './source-storage.ts'

/** Where the metrics come from. Each is read when Prometheus scrapes. */
export interface MetricSources {
  version: string
  requests: RequestCounts
  /** Undefined if request statistics are off. */
  statistics: { read(): void; readonly dropped: number } | undefined
  cache: () => Record<'bytes' | 'maxBytes' | 'entries' | 'refreshed' | 'refreshFailures' | 'evicted', number>
  queue: () => { running: number; waiting: number }
  engine: () => { ready: boolean; restarts: number; nodes?: readonly { node: string; ready: boolean }[] }
  intake: () => { pendingBytes: number }
  liveStreams: () => number
  alerts: () => { states: readonly string[]; deliveries: Readonly<Record<string, number>> }
  droppedLogLines: () => number
  storage: () => Promise<StoredSource[]>
  /** Whether there is an endpoint or a source of this name. */
  exists: Record<'endpoint' | 'source', (name: string) => boolean>
  /** Undefined if the disk belongs to a ClickHouse server. */
  freeDiskBytes: () => number | undefined
}

/** Entries of one source that were stored or rejected together. */
interface IntakeReport {
  source: string
  accepted: number
  rejected: number
  bytes: number
  ms: number
}

/** Number of finished requests of all kinds, by the first digit of their status. */
export class RequestCounts {
  readonly #byClass = new Float64Array(6)

  add(status: number): void {
    const place = Math.floor(status / 100)
    this.#byClass[place] = (this.#byClass[place] ?? 0) + 1
  }

  entries(): [status: string, count: number][] {
    return [1, 2, 3, 4, 5].map((digit) => [`${digit}xx`, this.#byClass[digit] as number])
  }
}

/** Maximum number of endpoint names, and of source names, that get a label of their own. */
const maxNames = 200

/** Gauges with names that end like counters, which promtool rejects. */
const misnamed = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/** Upper bounds in seconds, from a cache hit to the usual limit of a query. */
const callBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const intakeBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const latenessBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300]

/** All metrics for Prometheus. docs/reference/metrics.md lists the same names; a test compares the two. */
export class Metrics {
  readonly registry = new Registry()
  readonly #sources: MetricSources
  readonly #sourceLabels: BoundedLabels
  readonly #endpointLabels: BoundedLabels
  readonly #durations: Histogram<'endpoint' | 'status' | 'cache'>
  readonly #rowsRead: Counter<'endpoint'>
  readonly #entries: Counter<'source' | 'result'>
  readonly #entryBytes: Counter<'source'>
  readonly #intakeDurations: Histogram<'source'>
  readonly #refused: Counter<'code'>
  readonly #runs: Counter<'purpose'>
  readonly #engineSeconds: Counter<'purpose'>
  readonly #evaluations: Counter<'result'>
  readonly #lateness: Histogram
  #namesChanged = false
  #isRead = false

  constructor(sources: MetricSources) {
    this.#sources = sources
    this.#sourceLabels = new BoundedLabels(maxNames, sources.exists.source)
    this.#endpointLabels = new BoundedLabels(maxNames, sources.exists.endpoint)
    const registers = [this.registry]
    const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
      new Counter<Label>({ name, help, labelNames, registers })
    this.#durations = new Histogram({
      name: 'wellhead_call_duration_seconds',
      help: 'Time from the arrival of a request to an endpoint to the end of its response.',
      labelNames: ['endpoint', 'status', 'cache'],
      buckets: callBuckets,
      registers,
    })
    this.#rowsRead = counter(
      'wellhead_rows_read_total',
      'Rows of sources that the engine read for requests to endpoints.',
      ['endpoint'],
    )
    this.#entries = counter('wellhead_ingest_entries_total', 'Entries that were stored or rejected.', [
      'source',
      'result',
    ])
    this.#entryBytes = counter('wellhead_ingest_bytes_total', 'Bytes of stored entries, as lines of JSON.', [
      'source',
    ])
    this.#intakeDurations = new Histogram({
      name: 'wellhead_ingest_duration_seconds',
      help: 'Time until the entries of a request were on disk.',
      labelNames: ['source'],
      buckets: intakeBuckets,
      registers,
    })
    this.#refused = counter('wellhead_ingest_refused_total', 'Requests whose entries were all refused.', [
      'code',
    ])
    this.#runs = counter('wellhead_query_runs_total', 'Endpoint queries that the engine ran.', ['purpose'])
    this.#engineSeconds = counter(
      'wellhead_query_engine_seconds_total',
      'Time that the engine spent on endpoint queries.',
      ['purpose'],
    )
    this.#evaluations = counter('wellhead_alert_evaluations_total', 'Evaluations of alerts.', ['result'])
    this.#lateness = new Histogram({
      name: 'wellhead_alert_lateness_seconds',
      help: 'Time from when an evaluation was due until it was decided.',
      buckets: latenessBuckets,
      registers,
    })
    this.#addPulled()
  }

  /** The Prometheus text format. */
  async text(): Promise<string> {
    this.#sources.statistics?.read()
    this.#release()
    if (!this.#isRead) this.#addDefaults()
    return this.registry.metrics()
  }

  /** At the first read, because they wake the process a hundred times a second to measure the event loop. */
  #addDefaults(): void {
    this.#isRead = true
    collectDefaultMetrics({ register: this.registry })
    for (const name of misnamed) this.registry.removeSingleMetric(name)
  }

  /** Endpoints or sources were created, renamed or deleted. Removed names are dropped at the next read. */
  namesChanged(): void {
    this.#namesChanged = true
  }

  takeCalls(records: readonly CallRecord[]): void {
    this.#release()
    for (const { subject, status, cache, totalMs, rowsRead } of records) {
      const endpoint = this.#endpointLabels.of(subject.endpoint)
      this.#durations.observe({ endpoint, status: `${Math.floor(status / 100)}xx`, cache }, totalMs / 1000)
      if (rowsRead) this.#rowsRead.inc({ endpoint }, rowsRead)
    }
  }

  stored({ source: name, accepted, rejected, bytes, ms }: IntakeReport): void {
    const source = this.#sourceLabels.of(name)
    this.#entries.inc({ source, result: 'stored' }, accepted)
    this.#entries.inc({ source, result: 'rejected' }, rejected)
    this.#entryBytes.inc({ source }, bytes)
    this.#intakeDurations.observe({ source }, ms / 1000)
  }

  /** Counts an endpoint query; there are only a few purposes. */
  ran(purpose: string, ms: number): void {
    this.#runs.inc({ purpose })
    this.#engineSeconds.inc({ purpose }, ms / 1000)
  }

  evaluated(result: 'ok' | 'failed', lateMs: number): void {
    this.#evaluations.inc({ result })
    this.#lateness.observe(lateMs / 1000)
  }

  /** Takes a code of the error catalog. */
  refused(code: string): void {
    this.#refused.inc({ code })
  }

  #release(): void {
    if (!this.#namesChanged) return
    this.#namesChanged = false
    for (const endpoint of this.#endpointLabels.release()) {
      for (const status of [1, 2, 3, 4, 5].map((digit) => `${digit}xx`)) {
        for (const cache of cacheUses) this.#durations.remove({ endpoint, status, cache })
      }
      this.#rowsRead.remove({ endpoint })
    }
    for (const source of this.#sourceLabels.release()) {
      for (const result of ['stored', 'rejected']) this.#entries.remove({ source, result })
      this.#entryBytes.remove({ source })
      this.#intakeDurations.remove({ source })
    }
  }

  #addPulled(): void {
    const { requests, statistics, cache, queue, engine, freeDiskBytes, ...sources } = this.#sources
    const registers = [this.registry]
    const gauge = (name: string, help: string, read: () => number) =>
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read())
        },
      })
    const counter = <Label extends string>(
      name: string,
      help: string,
      labelNames: Label[],
      read: () => [Partial<Record<Label, string>>, number][],
    ) =>
      new Counter<Label>({
        name,
        help,
        labelNames,
        registers,
        collect() {
          this.reset()
          for (const [labels, value] of read()) this.inc(labels, value)
        },
      })
    const count = (name: string, help: string, read: () => number) =>
      counter(name, help, [], () => [[{}, read()]])
    new Gauge({
      name: 'wellhead_info',
      help: 'Always 1; its label is the version of the service.',
      labelNames: ['version'],
      registers,
    }).set({ version: sources.version }, 1)
    counter('wellhead_http_requests_total', 'Finished requests of all kinds.', ['status'], () =>
      requests.entries().map(([status, number]) => [{ status }, number]),
    )
    count(
      'wellhead_calls_unrecorded_total',
      'Requests to endpoints that are missing from the statistics.',
      () => statistics?.dropped ?? 0,
    )
    gauge('wellhead_cache_bytes', 'Memory used by cached results.', () => cache().bytes)
    gauge('wellhead_cache_max_bytes', 'Maximum memory for cached results.', () => cache().maxBytes)
    gauge('wellhead_cache_entries', 'Number of cached results.', () => cache().entries)
    count('wellhead_cache_evictions_total', 'Results evicted for lack of memory.', () => cache().evicted)
    counter('wellhead_cache_refreshes_total', 'Background refreshes of cached results.', ['result'], () => [
      [{ result: 'refreshed' }, cache().refreshed],
      [{ result: 'failed' }, cache().refreshFailures],
    ])
    gauge('wellhead_queue_running', 'Queries running now.', () => queue().running)
    gauge('wellhead_queue_waiting', 'Queries waiting for a slot.', () => queue().waiting)
    gauge('wellhead_engine_up', 'Whether the engine is ready.', () => (engine().ready ? 1 : 0))
    new Gauge<'node'>({
      name: 'wellhead_engine_node_up',
      help: 'Whether a ClickHouse node is ready.',
      labelNames: ['node'],
      registers,
      collect() {
        for (const { node, ready } of engine().nodes ?? []) this.set({ node }, ready ? 1 : 0)
      },
    })
    count('wellhead_engine_restarts_total', 'Restarts of the engine.', () => engine().restarts)
    gauge('wellhead_live_streams', 'Open live streams.', sources.liveStreams)
    new Gauge<'state'>({
      name: 'wellhead_alerts',
      help: 'Alerts that this service evaluates.',
      labelNames: ['state'],
      registers,
      collect() {
        for (const state of ['ok', 'pending', 'firing', 'failing']) this.set({ state }, 0)
        for (const state of sources.alerts().states) this.inc({ state })
      },
    })
    counter('wellhead_alert_deliveries_total', 'Attempts to deliver notifications.', ['result'], () =>
      Object.entries(sources.alerts().deliveries).map(([result, number]) => [{ result }, number]),
    )
    count(
      'wellhead_log_lines_dropped_total',
      'Log lines dropped because nothing read the output.',
      sources.droppedLogLines,
    )
    gauge(
      'wellhead_ingest_pending_bytes',
      'Bytes of entries not yet on disk.',
      () => sources.intake().pendingBytes,
    )
    if (freeDiskBytes() !== undefined) {
      gauge(
        'wellhead_disk_free_bytes',
        'Free space on the disk of the data directory.',
        () => freeDiskBytes() ?? 0,
      )
    }
    const stored = (name: string, help: string, figure: 'parts' | 'rows' | 'bytes') => {
      const metric = new Gauge<'source'>({
        name,
        help,
        labelNames: ['source'],
        registers,
        collect: async () => {
          const tables = await sources.storage()
          metric.reset()
          for (const table of tables)
            metric.inc({ source: this.#sourceLabels.of(table.source) }, table[figure])
        },
      })
    }
    stored('wellhead_source_parts', 'Data parts of a source.', 'parts')
    stored('wellhead_source_entries', 'Entries of a source on disk.', 'rows')
    stored('wellhead_source_bytes', 'Bytes of a source on disk.', 'bytes')
  }
}
