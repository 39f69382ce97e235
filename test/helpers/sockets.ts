/** The connections that one side still holds open, as Linux lists them: what a deaf client cannot be told. */
import { readFileSync } from 'node:fs'

const ESTABLISHED = '01'

/** How many connections a listener on this port has open. */
export const openAt = (port: number): number => {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map(line => line.trim().split(/\s+/))
    .filter(([, address, , state]) => address?.endsWith(local) && state === ESTABLISHED).length
}

/** Resolves when there are no more than this many. */
export const untilOpenAt = async (port: number, most: number): Promise<void> => {
  while (openAt(port) > most) await new Promise(resolve => setTimeout(resolve, 50))
}
