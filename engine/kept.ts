/** Files in the cache folder of a gateway. */
import { renameSync, utimesSync, writeFileSync } from 'node:fs'

/** Another process may read it at any time: it appears whole or not at all. */
export const whole = (path: string, text: string): void => {
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, text)
  renameSync(draft, path)
}

/** What is in use stays, however old it is. */
export const touch = (path: string): void => {
  try {
    utimesSync(path, new Date(), new Date())
  } catch {
    // It is somebody else's, who keeps it.
  }
}
