import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { BoundedLabels } from './bounded-labels.ts'
import { CallDurations } from './call-durations.ts'
import type { CallPage } from './call-page.ts'
import type { RequestCounts } from './request-counts.ts'
import type { StoredSource } from './source-storage.ts'

/** What the metrics are read from, each at the moment at which somebody asks for them. */
export interface MetricSources {
  version: string
  requests: RequestCounts
  /** Undefined where calls are not written down. */
  statistics: { read(): void; readonly dropped: number } | undefined
  cache: () => Record<'bytes' | 'maxBytes' | 'entries' | 'refreshed' | 'refreshFailures' | 'evicted', number>
  queue: () => { running: number; waiting: number }
  engine: () => { ready: boolean; version?: string; restarts: number }
  intake: () => { pendingBytes: number }
  liveStreams: () => number
  storage: () => Promise<StoredSource[]>
  /** Whether there is an endpoint or a source of this name. */
  exists: Record<'endpoint' | 'source', (name: string) => boolean>
  /** Undefined where the disk is somebody else's. */
  freeDiskBytes: () => number | undefined
}

/** Entries that were stored or rejected together, of one source. */
export interface IntakeReport {
  source: string
  accepted: number
  rejected: number
  bytes: number
  ms: number
}

/** So many names of endpoints, and so many of sources, are told apart. */
const maxNames = 200

/** Gauges that end like counters; Prometheus' own check refuses them. */
const misnamed = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

const intakeBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]

/** Everything that Prometheus is told. docs/metrics.md lists the same names; a test compares the two. */
export class Metrics {
  readonly registry = new Registry()
  readonly #sources: MetricSources
  readonly #sourceLabels: BoundedLabels
  readonly #endpointLabels: BoundedLabels
  readonly #durations: CallDurations
  readonly #rowsRead: Counter<'endpoint'>
  readonly #entries: Counter<'source' | 'result'>
  readonly #entryBytes: Counter<'source'>
  readonly #intakeDurations: Histogram<'source'>
  readonly #refused: Counter<'code'>
  readonly #runs: Counter<'purpose'>
  readonly #engineSeconds: Counter<'purpose'>
  #namesChanged = false

  constructor(sources: MetricSources) {
    this.#sources = sources
    this.#sourceLabels = new BoundedLabels(maxNames, sources.exists.source)
    this.#endpointLabels = new BoundedLabels(maxNames, sources.exists.endpoint)
    this.#durations = new CallDurations(this.#endpointLabels)
    const registers = [this.registry]
    collectDefaultMetrics({ register: this.registry })
    for (const name of misnamed) this.registry.removeSingleMetric(name)
    this.registry.registerMetric(this.#durations)
    this.#rowsRead = new Counter({
      name: 'wellhead_rows_read_total',
      help: 'Rows of sources that the engine read for calls.',
      labelNames: ['endpoint'],
      registers,
    })
    this.#entries = new Counter({
      name: 'wellhead_ingest_entries_total',
      help: 'Entries that were sent, stored or rejected.',
      labelNames: ['source', 'result'],
      registers,
    })
    this.#entryBytes = new Counter({
      name: 'wellhead_ingest_bytes_total',
      help: 'Bytes of stored entries, as lines of JSON.',
      labelNames: ['source'],
      registers,
    })
    this.#intakeDurations = new Histogram({
      name: 'wellhead_ingest_duration_seconds',
      help: 'Time that entries took to be on disk, for each request that sent them.',
      labelNames: ['source'],
      buckets: intakeBuckets,
      registers,
    })
    this.#refused = new Counter({
      name: 'wellhead_ingest_refused_total',
      help: 'Requests whose entries were all refused.',
      labelNames: ['code'],
      registers,
    })
    this.#runs = new Counter({
      name: 'wellhead_query_runs_total',
      help: 'Queries of endpoints that the engine ran.',
      labelNames: ['purpose'],
      registers,
    })
    this.#engineSeconds = new Counter({
      name: 'wellhead_query_engine_seconds_total',
      help: 'Time that the engine had queries of endpoints.',
      labelNames: ['purpose'],
      registers,
    })
    this.#addPulled()
  }

  /** In the form that Prometheus reads. */
  async text(): Promise<string> {
    this.#sources.statistics?.read()
    this.#release()
    return this.registry.metrics()
  }

  /** Endpoints or sources were made, renamed or deleted. What is gone is forgotten when somebody looks next. */
  namesChanged(): void {
    this.#namesChanged = true
  }

  takeCalls(page: CallPage): void {
    this.#release()
    this.#durations.take(page)
    for (let at = 0; at < page.length; at++) {
      const read = page.number(at, 'rowsRead')
      if (!(read > 0)) continue
      const { endpoint } = page.subject(at)
      this.#rowsRead.inc({ endpoint: this.#endpointLabels.of(endpoint) }, read)
    }
  }

  stored({ source: name, accepted, rejected, bytes, ms }: IntakeReport): void {
    const source = this.#sourceLabels.of(name)
    this.#entries.inc({ source, result: 'stored' }, accepted)
    this.#entries.inc({ source, result: 'rejected' }, rejected)
    this.#entryBytes.inc({ source }, bytes)
    this.#intakeDurations.observe({ source }, ms / 1000)
  }

  /** A query of an endpoint ran, for one of a few purposes. */
  ran(purpose: string, ms: number): void {
    this.#runs.inc({ purpose })
    this.#engineSeconds.inc({ purpose }, ms / 1000)
  }

  /** The codes are those of the catalogue of errors. */
  refused(code: string): void {
    this.#refused.inc({ code })
  }

  #release(): void {
    if (!this.#namesChanged) return
    this.#namesChanged = false
    for (const endpoint of this.#endpointLabels.release()) {
      this.#durations.forget(endpoint)
      this.#rowsRead.remove({ endpoint })
    }
    for (const source of this.#sourceLabels.release()) {
      for (const result of ['stored', 'rejected']) this.#entries.remove({ source, result })
      this.#entryBytes.remove({ source })
      this.#intakeDurations.remove({ source })
    }
  }

  #addPulled(): void {
    const {
      version,
      requests,
      statistics,
      cache,
      queue,
      engine,
      intake,
      liveStreams,
      storage,
      freeDiskBytes,
    } = this.#sources
    const gauge = (name: string, help: string, read: () => number) => {
      const registers = [this.registry]
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read())
        },
      })
    }
    const counter = <Label extends string>(
      name: string,
      help: string,
      labelNames: Label[],
      read: () => [Partial<Record<Label, string>>, number][],
    ) => {
      const registers = [this.registry]
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
    }
    const info = new Gauge({
      name: 'wellhead_info',
      help: 'Always 1; its label is the version of the service.',
      labelNames: ['version'],
      registers: [this.registry],
    })
    info.set({ version }, 1)
    counter('wellhead_http_requests_total', 'Requests of all kinds that are over.', ['status'], () =>
      requests.entries().map(([status, count]) => [{ status }, count]),
    )
    counter('wellhead_calls_unrecorded_total', 'Calls that are missing in the source of calls.', [], () => [
      [{}, statistics?.dropped ?? 0],
    ])
    gauge('wellhead_cache_bytes', 'Memory of cached results.', () => cache().bytes)
    gauge('wellhead_cache_max_bytes', 'Memory that cached results may take.', () => cache().maxBytes)
    gauge('wellhead_cache_entries', 'Cached results.', () => cache().entries)
    counter('wellhead_cache_evictions_total', 'Results that had to make room.', [], () => [
      [{}, cache().evicted],
    ])
    counter('wellhead_cache_refreshes_total', 'Renewals ahead of callers.', ['result'], () => [
      [{ result: 'renewed' }, cache().refreshed],
      [{ result: 'failed' }, cache().refreshFailures],
    ])
    gauge('wellhead_queue_running', 'Queries that run now.', () => queue().running)
    gauge('wellhead_queue_waiting', 'Queries that wait for their turn.', () => queue().waiting)
    gauge('wellhead_engine_up', 'Whether the engine answers.', () => (engine().ready ? 1 : 0))
    counter('wellhead_engine_restarts_total', 'Times that the engine was started again.', [], () => [
      [{}, engine().restarts],
    ])
    gauge('wellhead_live_streams', 'Readers of live rows.', liveStreams)
    gauge('wellhead_ingest_pending_bytes', 'Entries on their way to the disk.', () => intake().pendingBytes)
    if (freeDiskBytes() !== undefined) {
      gauge('wellhead_disk_free_bytes', 'Free space below the data directory.', () => freeDiskBytes() ?? 0)
    }
    this.#addStored(storage)
  }

  #addStored(storage: () => Promise<StoredSource[]>): void {
    const stored = (name: string, help: string, figure: 'parts' | 'rows' | 'bytes') =>
      new Gauge<'source'>({
        name,
        help,
        labelNames: ['source'],
        registers: [this.registry],
        collect: async () => {
          const all = await storage()
          const metric = this.registry.getSingleMetric(name) as Gauge<'source'>
          metric.reset()
          for (const one of all) metric.inc({ source: this.#sourceLabels.of(one.source) }, one[figure])
        },
      })
    stored('wellhead_source_parts', 'Pieces that the engine keeps a source in.', 'parts')
    stored('wellhead_source_entries', 'Entries of a source on disk.', 'rows')
    stored('wellhead_source_bytes', 'Bytes of a source on disk.', 'bytes')
  }
}
