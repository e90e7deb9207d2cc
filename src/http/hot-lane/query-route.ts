/** Where endpoints are called, for all who have to name that place. */
export const queryRoute = '/api/endpoints/query/:reference'
