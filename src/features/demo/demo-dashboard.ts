/** The dashboard that the demo opens with. */
export const demoDashboard = 'demo.traffic'
