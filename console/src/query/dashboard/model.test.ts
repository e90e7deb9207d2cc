import { expect, test } from 'vitest'
import { callOf, changeOf, movedItem, orderedNames, refreshOf, valuesOf, widthsOf } from './model.ts'

test('items without a width share what is left of the row', () => {
  expect(widthsOf([{}, {}, {}])).toEqual([4, 4, 4])
  expect(widthsOf([{ width: 8 }, {}])).toEqual([8, 4])
  expect(widthsOf([{ width: 12 }, {}])).toEqual([12, 12])
})

test('values come from the token, the address and the defaults, in this order', () => {
  const parameters = { project: { required: true }, interval: { default: 'hourly' }, tier: {} }
  const address = new URLSearchParams('project=b&tier=PRO')
  expect(valuesOf(parameters, address, { project: 'a' }, 0)).toEqual({
    ...{ project: 'a', interval: 'hourly', tier: 'PRO' },
  })
})

test('a list is one text, and a range leaves fixed values alone', () => {
  const parameters = {
    status: { type: 'list' as const, default: ['500', '502'] },
    from: { type: 'timestamp' as const, required: true },
    until: { type: 'timestamp' as const, required: true },
  }
  const until = '2026-01-02T00:00:00Z'
  const values = valuesOf(parameters, new URLSearchParams('_range=1h'), { until }, Date.UTC(2026, 0, 2, 12))
  expect(values).toMatchObject({ status: '["500","502"]', until })
})

test('a relative range is rounded, so that viewers share results', () => {
  const parameters = {
    from: { type: 'timestamp' as const, required: true },
    until: { type: 'timestamp' as const },
  }
  const at = Date.UTC(2026, 0, 2, 12, 0, 30)
  const expected = { from: '2026-01-02T11:01:00.000Z' }
  expect(valuesOf(parameters, new URLSearchParams('_range=1h'), {}, at)).toEqual(expected)
  expect(valuesOf(parameters, new URLSearchParams('_range=1h'), {}, at + 20_000)).toEqual(expected)
  expect(orderedNames({ project: {}, interval: {}, from: { type: 'timestamp' } })).toEqual([
    ...['from', 'interval', 'project'],
  ])
})

test('a panel sends fixed values and those of the dashboard, and names what is missing', () => {
  const item = { endpoint: 'a', parameters: { project: '@project', kind: 'fixed', tier: '@tier' } }
  const dashboard = { parameters: { project: { required: true }, tier: {} } } as never
  expect(callOf(item, dashboard, {})).toEqual({ values: { kind: 'fixed' }, missing: ['project'] })
  expect(callOf(item, dashboard, { project: 'x' }).values).toEqual({ project: 'x', kind: 'fixed' })
})

test('a number is the latest one, with its change since the first', () => {
  const rows = [
    { t: 2, n: 15 },
    { t: 1, n: '10' },
  ]
  expect(changeOf(rows, 'n', ({ t }) => t as number)).toEqual({ value: 15, change: 0.5, sinceMs: 1 })
  expect(changeOf([{ n: 3 }], 'n')).toEqual({ value: 3, change: undefined })
  expect(
    changeOf(
      [
        { t: 1, n: 0 },
        { t: 2, n: 4 },
      ],
      'n',
      ({ t }) => t as number,
    ).change,
  ).toBeUndefined()
})

test('the address decides how often panels are loaded, and nothing is live in a service without the feature', () => {
  const chosen = [null, 'off', 'live', '60', '2', 'x']
  expect(chosen.map((one) => refreshOf(one, 10))).toEqual([10, null, 'live', 60, 10, 10])
  expect(chosen.map((one) => refreshOf(one, 'live'))).toEqual(['live', null, 'live', 60, 'live', 'live'])
  const has = (feature: string) => feature !== 'live'
  expect(chosen.map((one) => refreshOf(one, 10, has))).toEqual([10, null, null, 60, 10, 10])
  expect(chosen.map((one) => refreshOf(one, 'live', has))).toEqual([null, null, null, 60, null, null])
})

test('items move within and between rows, and empty rows go away', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((markdown) => ({ markdown })) as [object, object, object]
  const rows = [{ items: [a, b] }, { items: [c] }] as never
  const texts = (moved: readonly { items: readonly { markdown?: string | undefined }[] }[]) =>
    moved.map(({ items }) => items.map(({ markdown }) => markdown).join('')).join(' ')
  expect(texts(movedItem(rows, [0, 0], [0, 1]))).toBe('ba c')
  expect(texts(movedItem(rows, [1, 0], [0, 1]))).toBe('acb')
  expect(texts(movedItem(rows, [0, 1], [2, 0]))).toBe('a c b')
  expect(texts(movedItem(rows, [0, 1], [-1, 0]))).toBe('b a c')
})
