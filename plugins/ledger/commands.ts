/** `tollgate audit`. */
import type { Command } from '../../engine/plugin.ts'
import { audit } from './audit.ts'

const print = (json: boolean, value: unknown, text: string): void =>
  void process.stdout.write(json ? `${JSON.stringify(value, null, 2)}\n` : text)
const refuse = (code: number, sentence: string): number => {
  process.stderr.write(`${sentence}\n`)
  return code
}

export const auditCommand: Command = {
  summary: 'ledger: whether the books balance',
  example: 'tollgate audit ledger',
  async run({ values, positionals }, { database }) {
    if (positionals.join(' ') !== 'ledger') return refuse(2, 'It is: tollgate audit ledger')
    const findings = await audit(database)
    const lines = findings.map(({ rule, subject, detail }) => `${rule}: ${subject}: ${detail}\n`)
    const text = findings.length === 0 ? 'the books balance\n' : lines.join('')
    print(values.json === true, { balanced: findings.length === 0, findings }, text)
    return findings.length === 0 ? 0 : 1
  },
}
