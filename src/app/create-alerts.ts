import { AlertAdmin } from '../alerts/alert-admin.ts'
import { AlertDeployments } from '../alerts/alert-deployments.ts'
import { AlertEvents } from '../alerts/alert-events.ts'
import { AlertLease } from '../alerts/alert-lease.ts'
import { AlertResults } from '../alerts/alert-results.ts'
import { AlertStore } from '../alerts/alert-store.ts'
import { Deliveries } from '../alerts/delivery/deliveries.ts'
import { loadAlertKey, WebhookSecrets } from '../alerts/delivery/secrets.ts'
import { Evaluator } from '../alerts/evaluator.ts'
import { SavedAlerts } from '../alerts/saved-alerts.ts'
import { alertsSource } from '../catalog/built-in-sources.ts'
import { storeEntries } from '../observability/call-statistics.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { EndpointParts } from './create-endpoints.ts'
import type { Storage } from './create-storage.ts'
import type { ServiceOptions } from './service-options.ts'

export type AlertParts = ReturnType<typeof createAlerts>

/** Alerts on endpoints, their evaluation and their notifications. */
export function createAlerts(
  { settings, time, log }: ServiceOptions,
  storage: Storage,
  { endpoints, calls, queue }: EndpointParts,
  metrics: Metrics,
) {
  const { engine, catalog } = storage
  const secrets = new WebhookSecrets(() => loadAlertKey(settings.dataDir, settings.alertKey))
  const post = { allowedHosts: settings.alertHosts ?? [] }
  const alerts = new SavedAlerts(catalog)
  const results = new AlertResults(endpoints, calls)
  const events = new AlertEvents({
    engine,
    store: storeEntries(alertsSource, storage),
    onFailure: (error) => log.warn({ err: error }, 'events of alerts could not be stored'),
  })
  const lease = new AlertLease({ catalog, store: () => store, time, log })
  const store = new AlertStore({
    engine,
    time,
    log,
    replicated: () => catalog.topology.replicated,
    mayWrite: () => lease.isHeld,
  })
  const deliveries = new Deliveries({
    time,
    secrets,
    events,
    post,
    save: (id, state) => evaluator.saveState(id, state),
  })
  const evaluator = new Evaluator({
    alerts,
    results,
    store,
    lease,
    deliveries,
    events,
    engineSlots: queue.maxRunning,
    time,
    log,
    onEvaluated: (result, lateMs) => metrics.evaluated(result, lateMs),
  })
  const admin = new AlertAdmin({
    catalog,
    alerts,
    endpoints,
    results,
    evaluator,
    deliveries,
    events,
    secrets,
    time,
    ...post,
  })
  return {
    admin,
    deployments: new AlertDeployments(alerts, admin),
    figures: () => {
      const states: Record<string, number> = { ok: 0, pending: 0, firing: 0, failing: 0 }
      for (const { state } of evaluator.known()) states[state] = (states[state] ?? 0) + 1
      return { states, deliveries: deliveries.counts }
    },
    start: () => evaluator.start(),
    stop: async () => {
      await evaluator.stop()
      await events.stop()
    },
  }
}
