import { useQueries } from '@tanstack/react-query'
import { useCallback, useMemo, useState } from 'react'
import type { Parameters } from '../../api/api-types.ts'
import { queries } from '../../api/queries.ts'
import { useAddress } from '../../ui/use-address.ts'

type Place = { source: string; path: string } | undefined

export interface ParameterValues {
  values: Record<string, string>
  /** Required, and without a value. */
  missing: readonly string[]
  /** Whether values are still being looked for in the data. */
  isLooking: boolean
  change: (name: string, value: string | undefined) => void
  /** Puts all values into the address, those too that nobody typed: so a link to it shows the same. */
  keep: () => void
}

/**
 * Values of parameters, kept in the address. One that is required and was not touched yet has a value that makes
 * sense: the first that is allowed, or the most frequent one in the data.
 */
export function useParameterValues(
  parameters: Parameters,
  seenAt: (name: string) => Place = () => undefined,
): ParameterValues {
  const [address, setAddress] = useAddress()
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
  const seen = useQueries({ queries: places.map(({ source, path }) => queries.values(source, path, 168)) })
  const offered = JSON.stringify(
    places.map(({ name }, index) => [
      name,
      seen[index]?.data?.find(({ value }) => value !== '')?.value ?? null,
    ]),
  )
  const values = useMemo(() => {
    const found = new Map(JSON.parse(offered) as [string, string | null][])
    const all = Object.keys(parameters).map((name): [string, string | undefined] => {
      const first = parameters[name]?.required && !touched.has(name) ? parameters[name]?.enum?.[0] : undefined
      return [name, address.get(name) ?? first?.toString() ?? found.get(name) ?? undefined]
    })
    return Object.fromEntries(all.filter((pair): pair is [string, string] => pair[1] !== undefined))
  }, [address, parameters, touched, offered])
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
    isLooking: seen.some(({ isPending }) => isPending),
    change,
    keep: () => setAddress(values, 'replace'),
  }
}
