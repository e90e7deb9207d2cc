/** State of the history where the console wrote the query into the address, so that it is not taken for a link from elsewhere. */
export const ownAddress = { playground: 'own' }
