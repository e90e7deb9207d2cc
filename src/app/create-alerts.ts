import { readAlert, type SavedAlert } from '../alerts/alert.ts'
import { AlertAdmin } from '../alerts/alert-admin.ts'
import { AlertStore } from '../alerts/alert-store.ts'
import { Deliveries } from '../alerts/deliveries.ts'
import { Evaluator } from '../alerts/evaluator.ts'
import { webhookSecrets } from '../alerts/secrets.ts'
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
  const alerts = new Map<string, SavedAlert>()
  const parts = {
    ...{ engine, catalog, endpoints, calls, engineSlots: queue.maxRunning, alerts, time, log },
    secrets: webhookSecrets(settings.dataDir, settings.alertKey),
    rules: { allowedHosts: settings.alertHosts ?? [] },
    storeEvents: storeEntries(alertsSource, storage),
    onEvaluated: metrics.evaluated.bind(metrics),
  }
  const store = new AlertStore(parts)
  const deliveries = new Deliveries(parts, store)
  const evaluator = new Evaluator(parts, store, deliveries)
  catalog.onChange('alert', (records) => {
    const changed = records.map(readAlert)
    for (const alert of changed) alerts.set(alert.id, alert)
    evaluator.changed(changed)
  })
  return {
    admin: new AlertAdmin(parts, evaluator, deliveries),
    figures: () => ({ states: evaluator.counts(), deliveries: deliveries.counts }),
    start: () => evaluator.start(),
    stop: () => evaluator.stop(),
  }
}
