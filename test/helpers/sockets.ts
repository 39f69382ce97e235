/** Open connections of a listener, from Linux's /proc: a client that does not read cannot notice a
 *  close. */
import { readFileSync } from 'node:fs'

const ESTABLISHED = '01'

/** Number of open connections of the listener on this port. */
export const openAt = (port: number): number => {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map(line => line.trim().split(/\s+/))
    .filter(([, address, , state]) => address?.endsWith(local) && state === ESTABLISHED).length
}

/** Resolves when there are at most so many. */
export const untilOpenAt = async (port: number, most: number): Promise<void> => {
  while (openAt(port) > most) await new Promise(resolve => setTimeout(resolve, 50))
}
