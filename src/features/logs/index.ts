/** What other features use of logs. */
export { readerOf } from './entry-access.ts'
export type { EntryReader } from './entry-queries.ts'
export type { LogSearch } from './log-search.ts'
