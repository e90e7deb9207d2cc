import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

type Labels = string | Record<string, string>
/** Values by label. A text is the value of the only label. */
export type LabeledValues = readonly (readonly [labels: Labels, value: number])[]
type Read = () => number | LabeledValues | Promise<LabeledValues>

/** Gauges with names that end like counters, which promtool rejects. */
const misnamed = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/** All metrics for Prometheus. docs/reference/metrics.md lists the same names; a test compares the two. */
export class Meters {
  readonly registry = new Registry()
  #isRead = false

  /** A number that grows when something happens. */
  counter<Label extends string>(name: string, help: string, ...labelNames: Label[]): Counter<Label> {
    return new Counter<Label>({ name, help, labelNames, registers: [this.registry] })
  }

  histogram<Label extends string>(
    name: string,
    help: string,
    buckets: number[],
    ...labelNames: Label[]
  ): Histogram<Label> {
    return new Histogram<Label>({ name, help, buckets, labelNames, registers: [this.registry] })
  }

  /** A number that is read when Prometheus asks. */
  gauge(name: string, help: string, read: Read, ...labelNames: string[]): void {
    this.#add(Gauge, name, help, read, labelNames)
  }

  /** A growing number that is read when Prometheus asks. */
  count(name: string, help: string, read: Read, ...labelNames: string[]): void {
    this.#add(Counter, name, help, read, labelNames)
  }

  #add(
    Kind: typeof Gauge | typeof Counter,
    name: string,
    help: string,
    read: Read,
    labelNames: string[],
  ): void {
    const labelsOf = (labels: Labels) =>
      typeof labels === 'string' ? { [labelNames[0] as string]: labels } : labels
    const collect = async () => {
      const value = await read()
      metric.reset()
      if (typeof value === 'number') metric.inc(value)
      else for (const [labels, figure] of value) metric.inc(labelsOf(labels), figure)
    }
    const metric = new Kind({ name, help, labelNames, registers: [this.registry], collect })
  }

  /** The metrics in the text format of Prometheus. */
  async text(): Promise<string> {
    // At the first read, because they wake the process a hundred times a second to measure the event loop.
    if (!this.#isRead) collectDefaultMetrics({ register: this.registry })
    for (const name of misnamed) this.registry.removeSingleMetric(name)
    this.#isRead = true
    return this.registry.metrics()
  }
}
