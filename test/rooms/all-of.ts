/** Runs every test file of a folder in this one process. Each can also be run alone; together they share the start of a
 *  process, which costs more than most of them do. */
import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** `folder`: relative to test/. */
export const allOf = async (folder: string): Promise<void> => {
  const at = new URL(`../${folder}/`, import.meta.url)
  for (const file of globSync('**/*.test.ts', { cwd: fileURLToPath(at) }).sort())
    await import(new URL(file, at).href)
}
