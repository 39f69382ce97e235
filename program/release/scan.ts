/** Compiles `scan.as` into `program.ts`, with AssemblyScript from npm (100 MB, therefore no
 *  dependency); `npm run scan -- --check` only compares them. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const COMPILER = 'assemblyscript@0.28.20'
/** 64 KiB each: what the memory map at the begin of `scan.as` takes. */
const PAGES = '42'
const OPTIONS = ['-O3', '--noAssert', '--converge', '--runtime', 'stub', '--use', 'abort=']

const folder = join(import.meta.dirname, '../../engine/request/json')
const target = join(folder, 'program.ts')
const workplace = mkdtempSync(join(tmpdir(), 'tollgate-scan-'))
try {
  const [source, output] = [join(workplace, 'scan.ts'), join(workplace, 'scan.wasm')]
  copyFileSync(join(folder, 'scan.as'), source)
  const command = ['--yes', `--package=${COMPILER}`, '--', 'asc', source, '-o', output]
  execFileSync('npx', [...command, ...OPTIONS, '--enable', 'simd', '--initialMemory', PAGES], {
    stdio: 'inherit',
  })
  const lines =
    readFileSync(output)
      .toString('base64')
      .match(/.{1,96}/g) ?? []
  const text = [
    '/** The program of `scan.as`: WebAssembly as base64. `npm run scan` writes this file. */',
    `export const PROGRAM = \`\n${lines.join('\n')}\``,
    '',
  ].join('\n')
  if (process.argv.includes('--check')) {
    if (readFileSync(target, 'utf8') !== text)
      throw new Error('program.ts is not what scan.as compiles to: run `npm run scan`')
  } else writeFileSync(target, text)
} finally {
  rmSync(workplace, { recursive: true, force: true })
}
