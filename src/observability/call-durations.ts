import { Histogram } from 'prom-client'
import type { BoundedLabels } from './bounded-labels.ts'
import type { CallPage } from './call-page.ts'
import { type CacheUse, cacheUses } from './call-record.ts'

/** Upper bounds in seconds: from a cached call to the longest that a query may usually take. */
export const callBuckets = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
]

interface Series {
  endpoint: string
  status: string
  cache: CacheUse
  /** How many calls fell into each bucket, and in the last place into none. */
  counts: number[]
  sum: number
}

const classes = ['1xx', '2xx', '3xx', '4xx', '5xx']
const placeOf = new Map(cacheUses.map((use, place) => [use, place]))

/**
 * Durations of calls. The values are added up from pages of calls: to look labels up for each call, as a histogram does by
 * itself, would cost more than a cached call may.
 */
export class CallDurations extends Histogram<'endpoint' | 'status' | 'cache'> {
  readonly #labels: BoundedLabels
  readonly #series = new Map<string, (Series | undefined)[]>()

  constructor(labels: BoundedLabels) {
    super({
      name: 'wellhead_call_duration_seconds',
      help: 'Time from the arrival of a call to the end of its answer.',
      labelNames: ['endpoint', 'status', 'cache'],
      buckets: callBuckets,
      registers: [],
    })
    this.#labels = labels
  }

  take(page: CallPage): void {
    for (let at = 0; at < page.length; at++) {
      const { endpoint } = page.subject(at)
      const series = this.#find(endpoint, page.number(at, 'status'), page.cache(at))
      const seconds = page.number(at, 'totalMs') / 1000
      let bucket = 0
      while (bucket < callBuckets.length && seconds > (callBuckets[bucket] as number)) bucket++
      series.counts[bucket] = (series.counts[bucket] as number) + 1
      series.sum += seconds
    }
  }

  forget(label: string): void {
    this.#series.delete(label)
  }

  /** What the registry asks a histogram for; prom-client does not declare it. */
  async getForPromString() {
    const { name, help } = this as unknown as { name: string; help: string }
    const values = [...this.#series.values()]
      .flat()
      .flatMap((series) => (series ? valuesOf(name, series) : []))
    return { name, help, type: 'histogram', values, aggregator: 'sum' }
  }

  #find(endpoint: string, status: number, cache: CacheUse): Series {
    const label = this.#labels.of(endpoint)
    let ofEndpoint = this.#series.get(label)
    if (ofEndpoint === undefined) {
      ofEndpoint = []
      this.#series.set(label, ofEndpoint)
    }
    const kind = Math.floor(status / 100) - 1
    const place = kind * cacheUses.length + (placeOf.get(cache) as number)
    let series = ofEndpoint[place]
    if (series === undefined) {
      const counts = new Array<number>(callBuckets.length + 1).fill(0)
      series = { endpoint: label, status: classes[kind] ?? 'other', cache, counts, sum: 0 }
      ofEndpoint[place] = series
    }
    return series
  }
}

function valuesOf(name: string, { counts, sum, ...labels }: Series) {
  let total = 0
  const buckets = counts.map((count, place) => {
    total += count
    const le = place < callBuckets.length ? (callBuckets[place] as number) : '+Inf'
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: total }
  })
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: total },
  ]
}
