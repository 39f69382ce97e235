/** Packages of a folder of .ci/, which tests need and the project does not install. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../../.ci', import.meta.url))

/** Installs the packages once; the path of their folder, or undefined where they cannot be had. */
export const ciPackages = async (name: string): Promise<string | undefined> => {
  const cwd = join(ROOT, name)
  const path = join(cwd, 'node_modules')
  const args = ['ci', '--prefer-offline', '--no-audit', '--no-fund']
  if (!existsSync(join(path, '.package-lock.json')))
    await promisify(execFile)('npm', args, { cwd }).catch(() => undefined)
  return existsSync(join(path, '.package-lock.json')) ? path : undefined
}
