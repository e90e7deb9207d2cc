/** The page that the demo opens with: a definition of `shipped/demo`. */
export const demoPage = { folder: 'dashboards', name: 'demo.traffic' } as const
