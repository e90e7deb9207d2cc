import { AlertAdmin } from '../alerts/alert-admin.ts'
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
  const parts = {
    ...{ engine, catalog, endpoints, calls, engineSlots: queue.maxRunning, time, log },
    secrets: webhookSecrets(settings.dataDir, settings.alertKey),
    rules: { allowedHosts: settings.alertHosts ?? [] },
    storeEvents: storeEntries(alertsSource, storage),
    onEvaluated: metrics.evaluated.bind(metrics),
  }
  const evaluator = new Evaluator(parts)
  return {
    admin: new AlertAdmin(parts, evaluator),
    figures: () => ({ states: evaluator.counts(), deliveries: evaluator.deliveries.counts }),
    start: () => evaluator.start(),
    stop: () => evaluator.stop(),
  }
}
