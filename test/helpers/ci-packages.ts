/** Packages of a folder of .ci/, which tests need and the project does not install. */
import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../../.ci', import.meta.url))
const INSTALL = ['ci', '--prefer-offline', '--no-audit', '--no-fund']

/** Installs the packages if their lock file has changed since; the path of their folder, or
 *  undefined if they cannot be had. */
export const ciPackages = async (name: string): Promise<string | undefined> => {
  const cwd = join(ROOT, name)
  const path = join(cwd, 'node_modules')
  const isCurrent = (): boolean => {
    const installed = statSync(join(path, '.package-lock.json'), { throwIfNoEntry: false })
    return (
      installed !== undefined &&
      installed.mtimeMs >= statSync(join(cwd, 'package-lock.json')).mtimeMs
    )
  }
  if (!isCurrent()) await promisify(execFile)('npm', INSTALL, { cwd }).catch(() => undefined)
  return isCurrent() ? path : undefined
}
