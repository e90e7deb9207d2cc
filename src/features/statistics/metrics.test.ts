import { readFileSync } from 'node:fs'
import { platform } from 'node:process'
import { describe, expect, test } from 'vitest'
import { callRecord } from '../../../test/support/call-records.ts'
import { idleMetrics, promtoolProblems } from '../../../test/support/metrics.ts'

const fileOf = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')

describe('metrics', () => {
  test('count durations by endpoint, status class and cache use', async () => {
    const metrics = idleMetrics()
    for (const totalMs of [0.4, 3, 60_000]) metrics.called(callRecord({ totalMs }))
    metrics.called(callRecord({ status: 504, cache: 'none', totalMs: 1000, rowsRead: 12 }))
    const lines = (await metrics.text()).split('\n')
    const hits = 'endpoint="logs.all",status="2xx",cache="hit"'
    for (const line of [
      `wellhead_call_duration_seconds_bucket{le="0.0005",${hits}} 1`,
      `wellhead_call_duration_seconds_bucket{le="0.0025",${hits}} 1`,
      `wellhead_call_duration_seconds_bucket{le="0.005",${hits}} 2`,
      `wellhead_call_duration_seconds_bucket{le="30",${hits}} 2`,
      `wellhead_call_duration_seconds_bucket{le="+Inf",${hits}} 3`,
      `wellhead_call_duration_seconds_sum{${hits}} 60.0034`,
      `wellhead_call_duration_seconds_count{${hits}} 3`,
      'wellhead_call_duration_seconds_count{endpoint="logs.all",status="5xx",cache="none"} 1',
      'wellhead_rows_read_total{endpoint="logs.all"} 12',
    ]) {
      expect(lines).toContain(line)
    }
  })

  test('read the current figures of other parts', async () => {
    const lines = (await idleMetrics().text()).split('\n')
    for (const line of [
      'wellhead_info{version="1.2.3"} 1',
      'wellhead_calls_unrecorded_total 4',
      'wellhead_cache_refreshes_total{result="failed"} 5',
      'wellhead_engine_up 0',
      'wellhead_engine_node_up{node="ch-1:8123"} 1',
      'wellhead_engine_restarts_total 7',
      'wellhead_queue_waiting 2',
      'wellhead_source_entries{source="edge_logs"} 2',
    ]) {
      expect(lines).toContain(line)
    }
  })

  test('measure the event loop only once someone reads them', async () => {
    const metrics = idleMetrics()
    const lag = () => metrics.meters.registry.getSingleMetric('nodejs_eventloop_lag_seconds')
    expect(lag()).toBeUndefined()
    await metrics.text()
    expect(lag()).toBeDefined()
    expect(await metrics.text()).toContain('nodejs_eventloop_lag_seconds')
  })

  test('give all names beyond the first 200 one label', async () => {
    const metrics = idleMetrics()
    for (let i = 0; i < 250; i++) {
      metrics.called(callRecord({ endpoint: `e${i}` }))
    }
    const text = await metrics.text()
    expect(new Set(text.match(/endpoint="\w+"/g)).size).toBe(201)
    const others = 'endpoint="_other",status="2xx",cache="hit"'
    expect(text).toContain(`wellhead_call_duration_seconds_count{${others}} 50`)
  })

  test('drop the label and figures of a removed name', async () => {
    const removed = new Set<string>()
    const metrics = idleMetrics((name) => !removed.has(name))
    const call = (endpoint: string) => metrics.called(callRecord({ endpoint, rowsRead: 5 }))
    const store = (source: string) =>
      metrics.stored({ source, accepted: 1, rejected: 1, withoutProject: 1, bytes: 3, ms: 4 })
    // The 200th source is the one with storage figures.
    for (let i = 0; i < 200; i++) call(`e${i}`)
    for (let i = 0; i < 199; i++) store(`s${i}`)
    await metrics.text()
    removed.add('e7').add('s7')
    metrics.namesChanged()
    const text = await metrics.text()
    expect(text).not.toMatch(/"[es]7"/)
    expect(text).toMatch(/endpoint="e8"/)
    call('new')
    store('new_source')
    // A request that began before its endpoint was deleted.
    call('e7')
    const later = await metrics.text()
    expect(later).toContain('wellhead_rows_read_total{endpoint="new"} 5')
    expect(later).toContain('wellhead_ingest_bytes_total{source="new_source"} 3')
    expect(later).toContain('wellhead_rows_read_total{endpoint="_other"} 5')
    expect(later).not.toMatch(/"[es]7"/)
  })

  test('count engine time by purpose', async () => {
    const metrics = idleMetrics()
    metrics.ran('call', 250)
    metrics.ran('refresh', 500)
    metrics.ran('refresh', 250)
    const lines = (await metrics.text()).split('\n')
    expect(lines).toContain('wellhead_query_runs_total{purpose="refresh"} 2')
    expect(lines).toContain('wellhead_query_engine_seconds_total{purpose="refresh"} 0.75')
    expect(lines).toContain('wellhead_query_engine_seconds_total{purpose="call"} 0.25')
  })

  test('count nothing twice when read twice', async () => {
    const metrics = idleMetrics()
    metrics.called(callRecord())
    await metrics.text()
    expect(await metrics.text()).toMatch(/^wellhead_engine_restarts_total 7$/m)
  })

  test('pass promtool', async ({ skip }) => {
    const metrics = idleMetrics()
    metrics.called(callRecord({ rowsRead: 1 }))
    metrics.called(callRecord({ status: 404 }))
    metrics.stored({ source: 'edge_logs', accepted: 1, rejected: 2, withoutProject: 1, bytes: 3, ms: 4 })
    metrics.refused('disk_full')
    metrics.ran('refresh', 12)
    const text = await metrics.text()
    expect(text).toContain('wellhead_ingest_without_project_total{source="edge_logs"} 1\n')
    const problems = promtoolProblems(text)
    if (problems === undefined) skip('promtool is not available here')
    expect(problems).toBe('')
  })
})

describe('documents about metrics', () => {
  const types = async () => {
    const metrics = idleMetrics()
    await metrics.text()
    return new Map(
      (await metrics.meters.registry.getMetricsAsJSON()).map(({ name, type }) => [name, String(type)]),
    )
  }

  test.runIf(platform === 'linux')(
    'docs/reference/metrics.md lists every metric with its type, and no other',
    async () => {
      const listed = [...fileOf('docs/reference/metrics.md').matchAll(/^- `([a-z_\d]+)` \((\w+)/gm)]
      expect(Object.fromEntries(listed.map(([, name, type]) => [name, type]))).toEqual(
        Object.fromEntries(await types()),
      )
    },
  )

  test('the dashboard uses only existing metrics', async () => {
    const known = await types()
    const dashboard = fileOf('deploy/grafana-dashboard.json')
    const named = new Set(dashboard.match(/\b(?:wellhead|process|nodejs)_[a-z_\d]+/g))
    const series = (name: string) =>
      known.has(name) || known.get(name.replace(/_(?:bucket|sum|count)$/, '')) === 'histogram'
    expect([...named].filter((name) => !series(name))).toEqual([])
    expect(named.size).toBeGreaterThan(15)
  })
})
