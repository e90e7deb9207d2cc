/** The parts of the API, in the order of the document. */
export const tags = [
  { name: 'Saved endpoints', description: 'The endpoints that this token can call.' },
  { name: 'Calling endpoints', description: 'Call any endpoint by its id or name.' },
  { name: 'Sending logs', description: 'Send entries as JSON or with OpenTelemetry.' },
  { name: 'Endpoints', description: 'Create, change and delete endpoints.' },
  { name: 'Sources', description: 'Where entries are stored, and for how long.' },
  { name: 'Tables', description: 'Rows that you upload, for endpoints to join with entries.' },
  { name: 'Dashboards', description: 'Charts of endpoints on one page.' },
  { name: 'Alerts', description: 'Evaluate endpoints at intervals, and notify when a condition is met.' },
  { name: 'Plans', description: 'What a project may store and call.' },
  { name: 'Projects', description: 'Their plans, their usage, and the erasure of their entries.' },
  { name: 'Deployments', description: 'Change many definitions in one step.' },
  { name: 'Access tokens', description: 'Who can call endpoints and send entries.' },
  { name: 'Signing in', description: 'Sessions of the console, in a cookie.' },
  { name: 'Backups', description: 'Back up everything that the service stores.' },
  { name: 'Exploring', description: 'Search entries, and try endpoints before you save them.' },
  { name: 'State and description', description: 'State of the service, and this document.' },
  { name: 'Console', description: 'The web console.' },
] as const

export type Tag = (typeof tags)[number]['name']
