import { expect, test } from 'vitest'
import { builtInSources } from './built-in-sources.ts'
import { isBuiltIn, withBuiltInSources } from './core/catalog/built-in-sources.ts'
import { isWrittenByService, projectPathsOf } from './core/catalog/reserved-sources.ts'

test('a service creates the sources of features after those of core, in a fixed order', () => {
  const names = builtInSources.map(({ name }) => name)
  expect(names.slice(-5)).toEqual([
    ...['quarantine', 'otel_logs', 'endpoint_requests', 'alert_events', 'audit_events'],
  ])
  const core = withBuiltInSources([])
  expect(names.slice(0, core.length)).toEqual(core.map(({ name }) => name))
})

test('a source of a feature stays closed to senders, and is erased, without the feature', () => {
  expect(withBuiltInSources([]).map(({ name }) => name)).not.toContain('alert_events')
  expect([isWrittenByService('alert_events'), isBuiltIn('alert_events')]).toEqual([true, true])
  expect(projectPathsOf('alert_events')).toEqual([['project'], ['key', 'project']])
  expect([isWrittenByService('edge_logs'), projectPathsOf('edge_logs')]).toEqual([false, []])
})

test('a feature cannot declare a source that is not reserved, or that another one declares', () => {
  expect(() => withBuiltInSources([{ name: 'orders' }])).toThrow('must be in reserved-sources.json')
  const twice = [{ name: 'alert_events' }, { name: 'alert_events' }]
  expect(() => withBuiltInSources(twice)).toThrow('Two features have the source alert_events.')
})
