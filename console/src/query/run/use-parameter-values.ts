import { useQueries } from '@tanstack/react-query'
import { useCallback, useMemo, useState } from 'react'
import { textOfValue } from '../../../../src/shared/list-text.ts'
import { queries } from '../../api/queries.ts'
import type { Parameter, Parameters } from '../../api/shapes.ts'
import { useAddress } from '../../ui/use-address.ts'
import type { SeenAt } from './sql-parameters.ts'

export interface ParameterValues {
  values: Record<string, string>
  /** Required parameters without a value. */
  missing: readonly string[]
  /** Whether values are being looked up in the data. */
  isLooking: boolean
  /** Whether the user changed a value. */
  isTouched: boolean
  change: (name: string, value: string | undefined) => void
  /** Writes all values to the address, including suggested ones, so that a link shows the same. */
  keep: () => void
}

/** Where values are kept: the address, unless a page has its own place. */
type Store = ReturnType<typeof useAddress>

/**
 * Values of parameters, kept in the address. A required parameter starts with a suggestion: its example, or the first allowed
 * value. If recent entries do not have the example, the most frequent value is suggested instead.
 */
export function useParameterValues(
  parameters: Parameters,
  seenAt: (name: string) => SeenAt | undefined = () => undefined,
  { store, isPending = false }: { store?: Store; isPending?: boolean } = {},
): ParameterValues {
  const inAddress = useAddress()
  const [address, setAddress] = store ?? inAddress
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set())
  const names = Object.keys(parameters)
  const open = names.filter(
    (name) =>
      parameters[name]?.required && !parameters[name]?.enum && !address.has(name) && !touched.has(name),
  )
  const places = open.flatMap((name) => {
    const place = seenAt(name)
    return place ? [{ name, ...place }] : []
  })
  const seen = useQueries({ queries: places.map(({ source, path }) => queries.values(source, path)) })
  const suggested = JSON.stringify(
    places.map(({ name }, index) => {
      const found = seen[index]?.data?.map(({ value }) => value).filter((value) => value !== '') ?? []
      const example = exampleOf(parameters[name])
      const isSeen = example !== undefined && found.includes(example)
      return [name, (isSeen ? example : found[0]) ?? null]
    }),
  )
  const isLooking = isPending || seen.some((one) => one.isPending)
  const values = useMemo(() => {
    const found = new Map(JSON.parse(suggested) as [string, string | null][])
    const suggestion = (name: string) => {
      const { required, enum: allowed } = parameters[name] ?? {}
      if (!required || touched.has(name)) return undefined
      if (allowed) return exampleOf(parameters[name]) ?? allowed[0]?.toString()
      return found.get(name) ?? (isLooking ? undefined : exampleOf(parameters[name]))
    }
    const all = Object.keys(parameters).map((name): [string, string | undefined] => [
      name,
      address.get(name) ?? suggestion(name),
    ])
    return Object.fromEntries(all.filter((pair): pair is [string, string] => pair[1] !== undefined))
  }, [address, parameters, touched, suggested, isLooking])
  const change = useCallback(
    (name: string, value: string | undefined) => {
      setTouched((now) => new Set(now).add(name))
      setAddress({ [name]: value }, 'replace')
    },
    [setAddress],
  )
  return {
    values,
    missing: names.filter((name) => parameters[name]?.required && values[name] === undefined),
    isLooking,
    isTouched: touched.size > 0,
    change,
    keep: () => setAddress(values, 'replace'),
  }
}

const exampleOf = (parameter: Parameter | undefined) =>
  parameter?.example === undefined ? undefined : textOfValue(parameter.example)
