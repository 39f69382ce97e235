/** Shows how busy the modes of a dialect are, over the whole installation. */
import type { Exchange, Host, Stage } from '../../../engine/plugin.ts'
import type { ModeFigures, TaskDialect } from '../dialects/dialect.ts'
import { type TaskDialectName, taskDialects } from '../dialects/index.ts'
import { type Mode, modesOf } from './modes.ts'
import { MODE_COUNTS, MODE_MEAN } from './statements.ts'

/** Tasks that a mean is taken over. */
const LATEST = 50

export class SpeedStage implements Stage {
  readonly answers = true
  readonly #host: Host
  readonly #dialect: TaskDialectName

  constructor(host: Host, dialect: TaskDialectName) {
    this.#host = host
    this.#dialect = dialect
  }
  async handle(exchange: Exchange): Promise<void> {
    const now = Date.now()
    const counts = await this.#host.database.read(MODE_COUNTS, [now])
    const modes = [...modesOf(this.#host).values()].filter(each => each.dialect === this.#dialect)
    const figures = modes.map(mode => this.#figuresOf(mode, counts))
    const dialect: TaskDialect = taskDialects[this.#dialect]
    exchange.answer(200, dialect.speed?.(await Promise.all(figures), now))
  }
  explain() {
    return { tasks: 'speed' }
  }
  async #figuresOf(
    { name, running: capacity }: Mode,
    counts: Awaited<ReturnType<Host['database']['read']>>,
  ): Promise<ModeFigures> {
    const row = counts.find(({ mode }) => mode === name)
    const [mean] = await this.#host.database.read(MODE_MEAN, [name, LATEST])
    const room = Number(row?.room ?? 0)
    const accepted = Number(row?.accepted ?? 0)
    return {
      name,
      running: room - accepted,
      queued: Number(row?.waiting ?? 0) + accepted,
      capacity,
      isFull: capacity !== undefined && room >= capacity,
      seconds: typeof mean?.mean === 'number' ? Math.round(mean.mean / 100) / 10 : undefined,
    }
  }
}
