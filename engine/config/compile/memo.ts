/** Caches texts that are costly to compute, in files beside the bundled plugins. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HostBase } from '../../plugin.ts'
import { writeAtomically } from '../disk.ts'
import { touch } from '../plugins/bundle-cache.ts'
import { PREBUILT } from '../plugins/program.ts'

/** `folder`: of the cache. Without it nothing is kept. */
export const createMemo = (folder: string | undefined): HostBase['memo'] => {
  return (name, make) => {
    if (folder === undefined) return make()
    const hash = createHash('sha256').update(name).digest('hex').slice(0, 16)
    const file = `memo-${hash}.txt`
    const path = join(folder, file)
    const known = readKnown(join(PREBUILT, file)) ?? readKnown(path)
    if (known !== undefined) return known
    const text = make()
    try {
      writeAtomically(path, text)
    } catch {
      // The folder cannot be written to: the text is made again next time.
    }
    return text
  }
}
const readKnown = (path: string): string | undefined => {
  try {
    const text = readFileSync(path, 'utf8')
    touch(path)
    return text
  } catch {
    return undefined
  }
}
