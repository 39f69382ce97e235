/** The targets of one exchange: lists that stages set, without those that its rules forbid. */
import type { Exchange, Target } from '../plugin.ts'

export type TargetRule = Parameters<Exchange['restrict']>[0]

export class PermittedTargets {
  #list: readonly Target[]
  #rules: readonly TargetRule[] = NO_RULES

  constructor(list: readonly Target[]) {
    this.#list = list
  }
  get list(): readonly Target[] {
    return this.#list
  }
  /** Throws the fault of a rule that permits none. */
  replace(list: readonly Target[]): void {
    this.#list = this.#rules.reduce((permitted, rule) => rule(permitted), list)
  }
  restrict(rule: TargetRule): void {
    this.#rules = [...this.#rules, rule]
    this.#list = rule(this.#list)
  }
}
const NO_RULES: readonly TargetRule[] = []
