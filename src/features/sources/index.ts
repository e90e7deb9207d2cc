/** What other features use of sources. */
export { deletionTime, protectedSince, steadyClock, versionsSince } from './delayed-deletion.ts'
export { HiddenEntries } from './hidden-entries.ts'
export { appliedRules, sourceName } from './routes.ts'
export type { SourceInfo } from './source-info.ts'
export { checkRules } from './source-kind.ts'
export { type SourceUsage, type Usage, type UsageInterval, usageIntervals } from './source-usage.ts'
