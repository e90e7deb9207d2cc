import { readAlert, type SavedAlert } from '../alerts/alert.ts'
import { AlertAdmin } from '../alerts/alert-admin.ts'
import { AlertResults } from '../alerts/alert-results.ts'
import { countStates } from '../alerts/alert-state.ts'
import { AlertStore } from '../alerts/alert-store.ts'
import { Deliveries } from '../alerts/deliveries.ts'
import { Evaluator } from '../alerts/evaluator.ts'
import { WebhookSecrets } from '../alerts/secrets.ts'
import { alertsSource } from '../catalog/built-in-sources.ts'
import { storeEntries } from '../observability/call-statistics.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { EndpointParts } from './create-endpoints.ts'
import type { Storage } from './create-storage.ts'
import type { ServiceOptions } from './service-options.ts'

/** Alerts on endpoints, their evaluation and their notifications. */
export function createAlerts(
  { settings, time, log }: ServiceOptions,
  storage: Storage,
  { endpoints, calls, queue }: EndpointParts,
  metrics: Metrics,
) {
  const { engine, catalog } = storage
  const secrets = new WebhookSecrets(settings.dataDir, settings.alertKey)
  const rules = { allowedHosts: settings.alertHosts ?? [] }
  const alerts = new Map<string, SavedAlert>()
  const results = new AlertResults(endpoints, calls)
  const store = new AlertStore({
    engine,
    catalog,
    time,
    log,
    storeEvents: storeEntries(alertsSource, storage),
  })
  const onAttempt = (id: string, state: Parameters<Evaluator['save']>[1]) => evaluator.save(id, state)
  const deliveries = new Deliveries({ time, secrets, store, rules, onAttempt })
  const onEvaluated = metrics.evaluated.bind(metrics)
  const { maxRunning: engineSlots } = queue
  const evaluator = new Evaluator({ alerts, results, store, deliveries, engineSlots, time, log, onEvaluated })
  catalog.onChange('alert', (records) => {
    const changed = records.map(readAlert)
    for (const alert of changed) alerts.set(alert.id, alert)
    evaluator.changed(changed)
  })
  const parts = { catalog, alerts, endpoints, results, evaluator, deliveries, secrets, rules, time }
  return {
    admin: new AlertAdmin(parts),
    figures: () => ({
      states: countStates(evaluator.known().map(([, state]) => state)),
      deliveries: deliveries.counts,
    }),
    start: () => evaluator.start(),
    stop: () => evaluator.stop(),
  }
}
