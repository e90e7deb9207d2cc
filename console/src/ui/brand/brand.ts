import { useSyncExternalStore } from 'react'
import { watchable } from '../../api/watchable.ts'
import { brandColors } from './brand-colors.ts'

interface Brand {
  name?: string
  color?: string
  logo: boolean
}

const watched = watchable()
const sent = document.querySelector<HTMLMetaElement>('meta[name=brand]')?.content
let brand: Brand | undefined

/** For customers and visitors. */
export function showBrand(): void {
  if (sent === undefined) return
  brand = JSON.parse(decodeURIComponent(sent)) as Brand
  const { style } = document.documentElement
  for (const [name, color] of Object.entries(brandColors(brand.color))) style.setProperty(name, color)
}

/** Admins work with the product, which its documentation calls by its name. */
export function hideBrand(): void {
  for (const name of Object.keys(brandColors(brand?.color)))
    document.documentElement.style.removeProperty(name)
  brand = undefined
  watched.changed()
}

export const useBrand = (): Brand | undefined => useSyncExternalStore(watched.subscribe, () => brand)

export const useProductName = (): string => useBrand()?.name ?? 'Wellhead'

/** Whether people can sign in with the issuer of the service. */
export const hasIssuer = document.querySelector('meta[name="sign-in"]') !== null
