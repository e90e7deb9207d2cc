import { describe, expect, test } from 'vitest'
import { type AlertState, dueNotification, evaluate, newState, type Outcome } from './alert-state.ts'

const definition = { every_seconds: 10, for_seconds: 30, repeat_seconds: null, muted_until: null }
const met = { met: true, value: 5 }
const unmet = { met: false, value: 1 }
const failed = { error: 'no' }

/** The states after evaluations at these times in seconds. */
function statesAfter(steps: readonly (readonly [number, Outcome])[], fields = definition): AlertState[] {
  const state = newState('rule', 'a', 0)
  return steps.map(([seconds, outcome]) => {
    evaluate(state, fields, outcome, seconds * 1000)
    return { ...state }
  })
}
const namesAfter = (...steps: (readonly [number, Outcome])[]) => statesAfter(steps).map(({ state }) => state)

describe('the state', () => {
  test('is pending until the condition has held long enough', () => {
    expect(namesAfter([0, met], [10, met], [20, met], [30, met], [40, unmet])).toEqual([
      ...['pending', 'pending', 'pending', 'firing', 'ok'],
    ])
  })

  test('does not fire early when the clock is set forward, and not late when it is set back', () => {
    expect(namesAfter([0, met], [3600, met], [3610, met])).toEqual(['pending', 'pending', 'firing'])
    expect(namesAfter([3600, met], [0, met], [10, met], [20, met], [30, met])).toEqual([
      ...['pending', 'pending', 'pending', 'pending', 'firing'],
    ])
  })

  test('counts neither the interval before a failure nor what was met before an evaluation that does not meet it', () => {
    expect(namesAfter([0, met], [10, failed], [20, met], [30, met], [40, met])).toEqual([
      ...['pending', 'pending', 'pending', 'pending', 'firing'],
    ])
    expect(namesAfter([0, met], [20, met], [25, unmet], [30, met], [50, met], [60, met])).toEqual([
      ...['pending', 'pending', 'ok', 'pending', 'pending', 'firing'],
    ])
  })

  test('is failing after three failures in a row, and remembers how long the condition held', () => {
    expect(namesAfter([0, failed], [1, failed], [2, unmet], [3, failed], [4, failed], [5, failed])).toEqual([
      ...['ok', 'ok', 'ok', 'ok', 'ok', 'failing'],
    ])
    const firing = [
      [0, met],
      [10, met],
      [20, met],
      [30, met],
    ] as const
    const failing = [
      [40, failed],
      [50, failed],
      [60, failed],
    ] as const
    expect(namesAfter(...firing, ...failing, [70, met]).slice(-2)).toEqual(['failing', 'firing'])
  })
})

describe('a notification is due', () => {
  const state = (fields: Partial<AlertState>): AlertState => ({ ...newState('rule', 'a', 0), ...fields })

  test('when receivers know another state', () => {
    expect(dueNotification(state({ state: 'firing' }), definition, 1, 1)).toBe('alert.firing')
    expect(dueNotification(state({ state: 'failing' }), definition, 1, 1)).toBe('alert.failing')
    expect(dueNotification(state({ state: 'pending' }), definition, 1, 1)).toBeUndefined()
    expect(dueNotification(state({ state: 'ok', told: 'firing' }), definition, 1, 1)).toBe('alert.resolved')
    expect(dueNotification(state({ state: 'firing', told: 'firing' }), definition, 1, 1)).toBeUndefined()
  })

  test('again after a while, unless the alert is muted', () => {
    const repeating = { ...definition, repeat_seconds: 60 }
    const firing = state({ state: 'firing', told: 'firing' })
    expect(dueNotification(firing, repeating, 59_999, 0)).toBeUndefined()
    expect(dueNotification(firing, repeating, 60_000, 0)).toBe('alert.firing')
    const muted = { ...repeating, muted_until: '1970-01-01T00:01:00Z' }
    expect(dueNotification(firing, muted, 60_000, 59_999)).toBeUndefined()
    expect(dueNotification(firing, muted, 60_000, 60_000)).toBe('alert.firing')
  })

  test('only for what an evaluation found, until so many have failed that the alert is failing', () => {
    const repeating = { ...definition, repeat_seconds: 60 }
    const firing = state({ state: 'firing', told: 'firing', failures: 1 })
    const unmuted = state({ state: 'firing', failures: 2 })
    for (const each of [firing, unmuted]) expect(dueNotification(each, repeating, 60_000, 0)).toBeUndefined()
    const failing = state({ state: 'failing', told: 'failing', failures: 3 })
    expect(dueNotification(failing, repeating, 60_000, 0)).toBe('alert.failing')
  })
})
