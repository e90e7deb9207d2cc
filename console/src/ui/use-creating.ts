import { useAddress } from './use-address.ts'

/** Whether a page shows its form for something new, which links and the palette open as well. */
export function useCreating(): [boolean, (creating: boolean) => void] {
  const [address, setAddress] = useAddress()
  return [address.has('_new'), (creating) => setAddress({ _new: creating ? '1' : undefined }, 'replace')]
}
