import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EndpointDefinition } from './definition.ts'
import { describeProblem, readDefinition } from './definition-file.ts'

/** The definitions in a directory. Every problem of every file is told at once. */
export function readDefinitions(directory: string): EndpointDefinition[] {
  const readings = readdirSync(directory)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => readDefinition(file, readFileSync(join(directory, file), 'utf8')))
  const problems = readings.flatMap((reading) => ('problems' in reading ? reading.problems : []))
  if (problems.length > 0) throw new Error(problems.map(describeProblem).join('\n'))
  return readings.flatMap((reading) => ('definition' in reading ? [reading.definition] : []))
}
