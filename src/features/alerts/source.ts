import type { SourceDeclaration } from '../../core/catalog/built-in-sources.ts'

/** Holds changes of alerts and their deliveries. */
export const alertsSource = {
  name: 'alert_events',
  description: 'State changes of alerts, and deliveries of their notifications. Written by the service.',
  columns: [
    { name: 'alert', path: 'alert', type: 'text' },
    { name: 'alert_id', path: 'alert_id', type: 'text' },
    { name: 'kind', path: 'kind', type: 'text' },
    { name: 'type', path: 'type', type: 'text' },
    { name: 'state', path: 'state', type: 'text' },
    { name: 'previous_state', path: 'previous_state', type: 'text' },
    { name: 'value', path: 'value', type: 'number' },
    { name: 'status', path: 'status', type: 'number' },
  ],
} satisfies SourceDeclaration
