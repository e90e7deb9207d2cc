import { expect, test } from 'vitest'
import { builtInSources } from '../../built-in-sources.ts'
import { readEntry } from '../../core/intake/entry-batch.ts'
import { demoSources, demoTraffic } from './traffic.ts'
import { projects } from './world.ts'

const hourMs = 3_600_000
const nowMs = Date.UTC(2026, 10, 15, 9, 17, 23)
const week = { afterMs: nowMs - 7 * 24 * hourMs, untilMs: nowMs }

/** The entries of the week, made once for all tests. */
const ofWeek = new Map(demoSources.map((source) => [source, [...demoTraffic(source, week)]]))

test('a week has 40,000 to 60,000 entries, and every source has some', () => {
  const counts = [...ofWeek.values()].map(({ length }) => length)
  expect(Math.min(...counts)).toBeGreaterThan(300)
  const total = counts.reduce((sum, count) => sum + count, 0)
  expect(total).toBeGreaterThan(40_000)
  expect(total).toBeLessThan(60_000)
})

test('the same instants give the same entries, at once or in pieces', () => {
  const span = { ...week, afterMs: nowMs - 30 * hourMs }
  const middle = nowMs - 11 * hourMs - 12_345
  const whole = [...demoTraffic('edge_logs', span)]
  const pieces = [
    ...demoTraffic('edge_logs', { ...span, untilMs: middle }),
    ...demoTraffic('edge_logs', { ...span, afterMs: middle }),
  ]
  expect(pieces.length).toBe(whole.length)
  expect(JSON.stringify(pieces) === JSON.stringify(whole)).toBe(true)
  expect(whole.every(({ atMs }, i) => i === 0 || atMs >= (whole[i - 1]?.atMs ?? 0))).toBe(true)
})

test('live traffic starts where the history ends, and every id is unique', () => {
  const live = [...demoTraffic('auth_logs', { afterMs: nowMs, untilMs: nowMs + hourMs })]
  const ids = [...(ofWeek.get('auth_logs') ?? []), ...live].map(({ entry }) => entry.id)
  expect(live.length).toBeGreaterThan(5)
  expect(new Set(ids).size).toBe(ids.length)
})

test('the service accepts every entry, and each belongs to one of the projects', () => {
  const known = new Set(projects.map(({ ref }) => ref))
  for (const source of demoSources) {
    for (const { entry } of demoTraffic(source, { ...week, afterMs: nowMs - 12 * hourMs })) {
      const reading = readEntry(JSON.stringify(entry), { nowMs, retentionDays: 90 })
      if ('reason' in reading) throw new Error(`${source}: ${reading.reason}`)
      expect(known).toContain(JSON.parse(reading.line.toString()).project)
    }
  }
})

test('the busiest project always has requests and invocations in the last five minutes', () => {
  for (let at = nowMs; at < nowMs + 7 * 24 * hourMs; at += 3 * hourMs + 7 * 60_000) {
    for (const source of ['edge_logs', 'function_edge_logs'] as const) {
      const recent = [...demoTraffic(source, { afterMs: at - 300_000, untilMs: at })]
      const busiest = recent.filter(({ entry }) => JSON.stringify(entry).includes(projects[0]?.ref ?? '?'))
      expect(busiest.length).toBeGreaterThan(0)
    }
  }
})

test('days are busier than nights, and few requests fail', () => {
  const all = ofWeek.get('edge_logs') ?? []
  const entries = all.filter(({ entry }) => entry.project === projects[1]?.ref)
  const atHour = (hour: number) => entries.filter(({ atMs }) => new Date(atMs).getUTCHours() === hour).length
  expect(atHour(15)).toBeGreaterThan(2 * atHour(3))
  const failed = entries.filter(({ entry }) => Number(/\| (\d+) \|/.exec(entry.event_message)?.[1]) >= 400)
  expect(failed.length / entries.length).toBeGreaterThan(0.01)
  expect(failed.length / entries.length).toBeLessThan(0.15)
})

test('every built-in source has traffic, except those that the service fills', () => {
  const names = builtInSources
    .map(({ name }) => name)
    .filter((name) => !/^(quarantine|otel_logs|endpoint_requests|alert_events|audit_events)$/.test(name))
  expect(new Set(demoSources)).toEqual(new Set(names))
})
