interface Page {
  querySelector(selector: string): { getAttribute(name: string): string | null } | null
}

/** Names of the features that the service has. Undefined in development: all of them. */
const names = (globalThis as { document?: Page }).document
  ?.querySelector('meta[name=features]')
  ?.getAttribute('content')
  ?.split(' ')

/** Whether the service has a feature. A build can lack some, such as alerts or tables. */
export const hasFeature = (name: string): boolean => names?.includes(name) ?? true
